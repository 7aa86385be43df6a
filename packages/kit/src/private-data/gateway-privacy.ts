import { ownerFolder, type RequestScope } from '../identity/identity.ts'

/** The sessions that the gateway counts as private. It may do so below CONFIDENTIAL, so the label alone does not say it. */
const privateSessions = new Set<string>()
const MAX_REMEMBERED = 4_096

export function rememberPrivate(scope: RequestScope): void {
  const session = keyOf(scope)
  // In order of use, so that the least recently used one is forgotten first. Every token says it again.
  privateSessions.delete(session)
  privateSessions.add(session)
  const [oldest] = privateSessions
  if (privateSessions.size > MAX_REMEMBERED && oldest !== undefined) privateSessions.delete(oldest)
}

/** Whether the gateway counts the session as private: by the token of this call, or by a later one. */
export const isPrivateInGateway = (scope: RequestScope): boolean =>
  scope.gateway !== undefined && (scope.gateway.isPrivate || privateSessions.has(keyOf(scope)))

const keyOf = ({ dataFolder, userId, sessionId }: RequestScope): string => ownerFolder(dataFolder, userId, sessionId)
