import { type RunningGateway, runGateway } from '../harness/run-gateway.ts'

/** Starts a gateway in front of one server whose names it leaves alone. */
export function runGatewayFor(server: object): Promise<RunningGateway> {
  // On a busy machine a server may be slow to start; the suite lists its tools at once, and only once.
  const gateway = { naming: 'bare', startup_wait: '10s' }
  // What may be cut is listed without its output schema.
  return runGateway({ config: { gateway, context: { cap: 'off' }, mcp_servers: { behind: server } } })
}
