/** Numbered lines are easier to compare in a failure than one long one. */
export const json = (value) => `${JSON.stringify(value, undefined, 2)}\n`;
export const entryOf = (server, { local, remote }) => 'url' in server ? remote(server) : local(server);
export function mapServers(servers, shapes) {
    return Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, entryOf(server, shapes)]));
}
