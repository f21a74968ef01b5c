package live

const hostVariable = "MCPSIM_LIVE_TEST_HOST"

func hostMain() {}
