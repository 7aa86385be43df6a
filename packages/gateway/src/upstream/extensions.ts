import { isJsonObject, type JsonObject } from '@sallyport/core'

/** Extensions whose messages are known: others of the same name prove nothing about a message that nobody knows. */
const TASKS = 'io.modelcontextprotocol/tasks'
const KNOWN_EXTENSIONS: ReadonlyMap<string, RegExp> = new Map([
  [TASKS, /^notifications\/tasks(\/|$)/],
  ['io.modelcontextprotocol/ui', /^notifications\/ui\//],
])

/** Whether both sides declared tasks, in either era's way. */
export function sharesTasks(client: JsonObject, server: JsonObject): boolean {
  return extensionNames(client).has(TASKS) && extensionNames(server).has(TASKS)
}

/** Whether both sides declared an extension of which we do not know what belongs to it. */
export function sharesExtension(client: JsonObject, server: JsonObject): boolean {
  const declared = extensionNames(client)
  for (const name of extensionNames(server)) if (declared.has(name) && !KNOWN_EXTENSIONS.has(name)) return true
  return false
}

/** Whether a notification beyond the protocol's own was agreed on. */
export function mayNotify(method: string, client: JsonObject, server: JsonObject): boolean {
  const declared = extensionNames(client)
  const offered = extensionNames(server)
  for (const [name, methods] of KNOWN_EXTENSIONS)
    if (methods.test(method)) {
      // A legacy client declares only the tasks that it carries out itself; it is told of those that it asked for.
      const isLegacyTask = name === TASKS && server.tasks !== undefined
      return isLegacyTask || (declared.has(name) && offered.has(name))
    }
  return sharesExtension(client, server)
}

/** `experimental` is where earlier versions of the protocol put what later became extensions. */
function extensionNames({ extensions, experimental }: JsonObject): ReadonlySet<string> {
  const names = [extensions, experimental].flatMap((group) => (isJsonObject(group) ? Object.keys(group) : []))
  return new Set(names)
}
