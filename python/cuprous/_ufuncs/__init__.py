"""Universal functions and generalized ones, with their methods (`reduce`, `accumulate`, `outer`, `reduceat`, `at`)."""
