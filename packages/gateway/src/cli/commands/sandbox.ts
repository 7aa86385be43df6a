import { buildRouteMap } from '@stricli/core'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { EXPORT_FORMATS, type ExportFlags, ISOLATED_MODES } from '../sandbox/export-formats.ts'
import { createChoiceParser } from '../terminal/choice-parser.ts'
import { type Example, withOverview } from '../terminal/help-text.ts'

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

export const sandboxCommands = withOverview(
  buildRouteMap<'export', CliContext>({
    routes: Object.assign(Object.create(null), { export: exportCommand }),
    docs: { brief: 'Export the network policy of sandboxes for deployments' },
  }),
  EXPORT_EXAMPLES,
)
