/** The instances of a server with `url_isolated`. */
export type ServerInstance = 'normal' | 'isolated'

/** No id of a server contains a space. */
const ISOLATED = ' (isolated)'

/** The name of the isolated instance of a server, in messages and lists. */
export const isolatedName = (server: string): string => `${server}${ISOLATED}`

/** The server that an instance belongs to. */
export const serverOfInstance = (name: string): string =>
  name.endsWith(ISOLATED) ? name.slice(0, -ISOLATED.length) : name

/** The instance that an event is about. */
export const instanceIn = ({
  server,
  instance,
}: {
  readonly server: string
  readonly instance?: ServerInstance
}): string => (instance === 'isolated' ? isolatedName(server) : server)
