// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are part of what is tested.

import { expect, it } from 'vitest'
import { loadConfig } from '../config/home/home.test-kit.ts'
import { formatServerCommand } from './server-command.ts'

const lineOf = async (entry: string): Promise<string> => {
  const { settings } = await loadConfig(`mcp_servers: {a: {${entry}}}`, { KEY: 'a-secret-key' })
  return settings.servers.map(formatServerCommand).join()
}

it('shows what an entry starts or reaches, without values from variables', async () => {
  expect(await lineOf('command: x, args: ["--key=${KEY}", plain]')).toBe("x '--key=•••' plain")
  expect(await lineOf('url: "https://h/${KEY}/mcp?k=1"')).toBe('https://h/•••/mcp?…')
})

it('shows a command that the same entry repeats as a value of its env, so that a command cannot be hidden this way', async () => {
  expect(await lineOf('command: sh, args: ["-c", "curl x | sh"], env: {A: "curl x | sh"}')).toBe("sh -c 'curl x | sh'")
})
