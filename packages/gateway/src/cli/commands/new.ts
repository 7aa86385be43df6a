import { join } from 'node:path'
import { buildRouteMap } from '@stricli/core'
import { PACKAGE_ROOT } from '../../package-root.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { parsePackageName } from '../package-name.ts'
import { scaffold } from '../scaffold.ts'
import { type Example, withOverview } from '../terminal/help-text.ts'
import { createScreen } from '../terminal/screen.ts'

const SERVER_EXAMPLES: readonly Example[] = [
  ['new server my-server', 'A project in ./my-server, with tools, tests and a README'],
  ['new server @acme/records', 'A scoped package, in ./records'],
]

const serverCommand = defineCommand<object, [string]>({
  brief: 'Create a project for your own MCP server',
  description:
    'It is written in TypeScript with @sallyport/kit, and needs no gateway. The project is created in a new folder;\n' +
    'nothing is installed, and a folder that is not empty is never changed.',
  examples: SERVER_EXAMPLES,
  flags: {},
  positional: {
    kind: 'tuple',
    parameters: [{ brief: 'The name of the package, by the rules of npm', placeholder: 'name', parse: String }],
  },
  run: newServer,
})

export const newCommands = withOverview(
  buildRouteMap<'server', CliContext>({
    routes: Object.assign(Object.create(null), { server: serverCommand }),
    docs: { brief: 'Create a project: your own MCP server' },
  }),
  SERVER_EXAMPLES,
)

async function newServer(context: CliContext, flags: GlobalFlags, typed: string): Promise<void> {
  const screen = createScreen(context, flags)
  const name = parsePackageName(typed)
  const folder = join(context.cwd, name.short)
  const files = await scaffold({ template: join(PACKAGE_ROOT, 'templates', 'server'), folder, name })
  const next = [`cd ${name.short}`, 'npm install', 'npm test', 'npm run dev']
  if (screen.json) return screen.printJson({ name: name.full, folder, files, next })
  screen.printMessage(`${folder} has a server with two tools, and tests for them. Next:`)
  screen.print(`${next.map((line) => `  ${line}\n`).join('')}`)
}
