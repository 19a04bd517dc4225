"""E. Shmueli, D. G. Feitelson, IEEE TPDS 2009: users who react, and a policy made for them."""
