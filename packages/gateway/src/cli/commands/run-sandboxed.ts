import { NETWORK_MODES, type NetworkMode } from '@sallyport/core'
import { defineCommand } from '../define-command.ts'
import type { RunSandboxedFlags } from '../sandbox/run-sandboxed.ts'
import { createChoiceParser } from '../terminal/choice-parser.ts'

const parseMode = createChoiceParser<NetworkMode>(NETWORK_MODES)
const DRIVERS = ['auto', 'bubblewrap', 'docker', 'podman'] as const

export const runSandboxedCommand = defineCommand<RunSandboxedFlags, readonly string[]>({
  brief: 'Run a program without your files, and with as much network as you allow',
  description:
    'The program sees the system and its own files, read-only, and may write only to /workspace, /tmp and its home, which are empty and private unless you name a workspace. All of its network is the gateway’s egress proxy: NONE reaches nothing, PROXIED the hosts of --allow, FULL all public addresses. stdin, stdout, stderr and the exit code are the program’s own. Nothing runs if this machine cannot isolate it.',
  examples: [
    ['run-sandboxed -- node server.mjs', 'No network at all'],
    ['run-sandboxed --mode PROXIED --allow api.github.com -- ./tool', 'One host, at ports 80 and 443'],
    ['run-sandboxed --workspace . -- npx -y @modelcontextprotocol/server-filesystem /workspace', 'Write here'],
    ['run-sandboxed --mode FULL --env API_KEY --mount ~/data -- python server.py', 'A variable, and more files'],
    ['run-sandboxed --driver docker -- node server.mjs', 'In a container, with the same files'],
    ['run-sandboxed --image records:1 -- --stdio', 'The program of an image, with an argument'],
  ],
  flags: {
    mode: {
      kind: 'parsed',
      parse: parseMode,
      proposeCompletions: () => NETWORK_MODES,
      optional: true,
      placeholder: NETWORK_MODES.join('|'),
      brief: 'What it can reach (NONE)',
    },
    allow: {
      kind: 'parsed',
      parse: String,
      optional: true,
      variadic: true,
      placeholder: 'host[:port]',
      brief: 'A host for PROXIED, such as api.example or *.corp.example:8443; in FULL, one that is not public',
    },
    driver: {
      kind: 'parsed',
      parse: createChoiceParser(DRIVERS),
      proposeCompletions: () => DRIVERS,
      optional: true,
      placeholder: DRIVERS.join('|'),
      brief: 'What isolates it; auto is the first that works, of docker and podman for an image (auto)',
    },
    image: {
      kind: 'parsed',
      parse: String,
      optional: true,
      placeholder: 'image',
      brief: 'Run the program of this image, in a container, and give it the words after --',
    },
    workspace: {
      kind: 'parsed',
      parse: String,
      optional: true,
      placeholder: 'folder',
      brief: 'The folder that is at /workspace, and may be written',
    },
    mount: {
      kind: 'parsed',
      parse: String,
      optional: true,
      variadic: true,
      placeholder: 'path[:inside][:rw]',
      brief: 'A further file or folder that it sees, read-only without :rw',
    },
    env: {
      kind: 'parsed',
      parse: String,
      optional: true,
      variadic: true,
      placeholder: 'name',
      brief: 'A variable of this environment that it gets',
    },
  },
  positional: {
    kind: 'array',
    parameter: { brief: 'The program and its arguments, after --', placeholder: 'command', parse: String },
  },
  run: async (context, flags, ...words) => {
    const { runSandboxed } = await import('../sandbox/run-sandboxed.ts')
    await runSandboxed(context, flags, words)
  },
})
