"""The page docs/claims.md, which collects the claims of all studies."""
