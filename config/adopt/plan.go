package adopt

type Plan struct{}
