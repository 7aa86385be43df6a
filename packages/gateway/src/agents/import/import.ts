export { type FoundServer, listFoundServers, type ServerOrigin } from './found-server.ts'
export { type AddedServer, type ImportPlan, type ImportRequest, mergeServers, toNewServer } from './merge-servers.ts'
export { parsePastedServers } from './parse-pasted.ts'
