import { expect, it } from 'vitest'
import { loadConfig } from '../home/home.test-kit.ts'
import { listPossibleRoutes } from './private-route.ts'

it.each([
  ['a program', '{command: x}', ['sandbox']],
  ['a remote server', '{url: "https://x.example/mcp"}', ['allowed-host', 'isolated-instance']],
  ['a Docker MCP Gateway', '{type: docker-gateway}', []],
])('the operator can give %s the routes that its entry can have', async (_, entry, routes) => {
  const { settings } = await loadConfig(`mcp_servers: {a: ${entry}}`)
  expect(listPossibleRoutes(settings.servers.find(({ id }) => id === 'a'))).toEqual(routes)
})
