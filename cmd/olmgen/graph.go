package main

import "github.com/spf13/cobra"

func newGraph() *cobra.Command { return &cobra.Command{Use: "graph"} }
