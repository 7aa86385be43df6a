export { buildChildEnvironment } from './child-environment.ts'
export { readFairly } from './fair-reader.ts'
export {
  describeExit,
  describeLoss,
  StdioTransport,
  type StdioTransportOptions,
  spawnFailure,
} from './stdio-transport.ts'
