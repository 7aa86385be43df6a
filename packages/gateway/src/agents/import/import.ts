export type { FoundServer, ServerOrigin } from './found-server.ts'
export { type AddedServer, type ImportPlan, type ImportRequest, mergeServers } from './merge-servers.ts'
