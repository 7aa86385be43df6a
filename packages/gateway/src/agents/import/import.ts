export type { FoundServer, ServerSource } from './found-server.ts'
export { type AddedServer, type ImportPlan, type ImportWish, mergeServers } from './merge-servers.ts'
