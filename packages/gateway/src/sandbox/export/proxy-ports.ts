/** The ports of an exported proxy. The mode of a client is the port that it can reach. */
export const PROXY_PORTS = { PROXIED: 3128, FULL: 3129 } as const
