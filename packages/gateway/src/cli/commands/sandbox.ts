import { buildRouteMap } from '@stricli/core'
import { printChecks } from '../checks/print-checks.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { EXPORT_FORMATS, type ExportFlags, ISOLATED_MODES } from '../sandbox/export-formats.ts'
import { createChoiceParser } from '../terminal/choice-parser.ts'
import { type Example, withOverview } from '../terminal/help-text.ts'
import { createScreen } from '../terminal/screen.ts'

const EXPORT_EXAMPLES: readonly Example[] = [
  ['sandbox export --to squid > squid.conf', 'A forward proxy with the hosts of sandbox.proxied.allow'],
  ['sandbox export --to envoy', 'The same for Envoy, which checks less'],
  ['sandbox export --to docker-compose --image files=files:1', 'Two instances of a server: FULL and NONE'],
  ['sandbox export --to k8s --image files=files:1 --isolated PROXIED', 'Deployments with network policies'],
]

const exportCommand = defineCommand<ExportFlags>({
  brief: 'Print the network policy as a file for a deployment',
  description:
    'The hosts of sandbox.proxied.allow, and for Docker Compose and Kubernetes the servers that --image names: each with\n' +
    'an instance that has a network (FULL) and an isolated one, which gets the calls of sessions with private data; one\n' +
    'instance without a network for servers with `network: none`. The file says what it covers and what it does not.\n' +
    'It contains no values of variables. Nothing is started.',
  examples: EXPORT_EXAMPLES,
  flags: {
    to: {
      kind: 'parsed',
      parse: createChoiceParser(EXPORT_FORMATS),
      proposeCompletions: () => EXPORT_FORMATS,
      placeholder: EXPORT_FORMATS.join('|'),
      brief: 'What the file is for',
    },
    server: {
      kind: 'parsed',
      parse: String,
      optional: true,
      placeholder: 'name',
      brief: 'Only this server, of those that --image names',
    },
    image: {
      kind: 'parsed',
      parse: String,
      optional: true,
      variadic: true,
      placeholder: 'server=image',
      brief: 'The image of a server, which serves MCP over HTTP; for docker-compose and k8s',
    },
    isolated: {
      kind: 'parsed',
      parse: createChoiceParser(ISOLATED_MODES),
      proposeCompletions: () => ISOLATED_MODES,
      optional: true,
      placeholder: ISOLATED_MODES.join('|'),
      brief: 'The network mode of isolated instances (NONE); with PROXIED, SECRET data can reach the listed hosts, too',
    },
  },
  run: async (context, flags) => {
    const { exportPolicy } = await import('../sandbox/export-policy.ts')
    await exportPolicy(context, flags)
  },
})

const LIST_EXAMPLES: readonly Example[] = [
  ['sandbox list', 'Which servers are in a sandbox, and what each of their processes can reach now'],
  ['sandbox list --json', 'The same for a program'],
]

const listCommand = defineCommand<object>({
  brief: 'List the servers, the sandboxes of their processes, and what each can reach now',
  examples: LIST_EXAMPLES,
  flags: {},
  run: async (context, flags) => {
    const { listSandboxes } = await import('../sandbox/sandbox-list.ts')
    await listSandboxes(context, flags)
  },
})

const CHECK_EXAMPLES: readonly Example[] = [
  ['sandbox check', 'Which of bubblewrap, docker and podman work here, which one auto uses, and how to fix the others'],
]

const EXIT_DIFFERENCES = 6

const checkCommand = defineCommand<object>({
  brief: 'Check which drivers can isolate programs on this machine, and show how to fix the others',
  description:
    'No server is started. Engines of containers get an empty image (localhost/sallyport-base), and start it once.\n' +
    'Exits with 6 if no driver works.',
  examples: CHECK_EXAMPLES,
  flags: {},
  run: async (context, flags) => {
    const { checkSandboxDrivers } = await import('../checks/sandbox-checks.ts')
    const screen = createScreen(context, flags)
    const checks = await checkSandboxDrivers(context.environment)
    const isOk = checks.every(({ level }) => level !== 'wrong')
    if (screen.json) screen.printJson({ ok: isOk, checks })
    else printChecks(screen, checks)
    if (!isOk) context.process.exitCode = EXIT_DIFFERENCES
  },
})

export const sandboxCommands = withOverview(
  buildRouteMap<'list' | 'check' | 'export', CliContext>({
    routes: Object.assign(Object.create(null), { list: listCommand, check: checkCommand, export: exportCommand }),
    defaultCommand: 'list',
    docs: { brief: 'Show what servers in sandboxes can reach, and export the policy for deployments' },
  }),
  [...LIST_EXAMPLES, ...CHECK_EXAMPLES, ...EXPORT_EXAMPLES],
)
