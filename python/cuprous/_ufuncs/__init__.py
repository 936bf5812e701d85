"""Universal functions and generalized universal functions, with their methods (`reduce`, `accumulate`, `outer`,
`reduceat`, `at`)."""
