import { json } from './agent-cli.ts'

const plainText = (value: unknown): string =>
  /^[\w ./-]+$/.test(String(value)) ? String(value) : JSON.stringify(value)

/** Written over many lines: some agents read no other YAML. */
export const yaml = (value: object, indent = ''): string =>
  Object.entries(value)
    .map(([key, part]: [string, unknown]) => {
      if (typeof part !== 'object' || part === null) return `${indent}${key}: ${plainText(part)}\n`
      if (!Array.isArray(part)) return `${indent}${key}:\n${yaml(part, `${indent}  `)}`
      const items = part.map((item) =>
        typeof item === 'object' ? yaml(item, `${indent}    `).trim() : plainText(item),
      )
      return `${indent}${key}:\n${items.map((item) => `${indent}  - ${item}\n`).join('')}`
    })
    .join('')

/** A sub-agent in a Markdown file. */
export const markdown = (head: object): string =>
  `---\n${yaml({ name: 'helper', description: 'Helps with whatever there is to do.', ...head })}---\nYou help with whatever you are asked to do, and say what you found.\n`

export const mcpServers = (server: object): string => json({ mcpServers: { planted: server } })

/** In the user's own file, as the agent's users write it. */
export const OWN = { own: true } as const
export const REFUSED_FLAG = /would change the servers/
