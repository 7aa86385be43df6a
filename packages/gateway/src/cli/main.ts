import { createCliContext } from './cli-context.ts'
import { exposeGc } from './serve/expose-gc.ts'
import { ignoreWriteErrors } from './terminal/ignore-write-errors.ts'

ignoreWriteErrors(process.stderr)
exposeGc()

// Node crashes on a failed write, but a closed reader is the normal end of `sallyport audit | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return
  process.stderr.write(`✗ The output could not be written (${error.code}).\n`)
  process.exit(1)
})

const args = process.argv.slice(2)
const context = createCliContext(process)

if (isHookCall(args)) {
  // Built into a separate file (vite.hook.config.ts), so it must not be bundled into this one.
  const file = './hook/hook.js'
  const { answerHook } = (await import(/* @vite-ignore */ file)) as typeof import('./hook/hook.ts')
  await answerHook(args.slice(1), context)
} else {
  const { runCli } = await import('./run-cli.ts')
  process.exitCode = await runCli(args, context)
}

/** Whether an agent calls its hook, and not a person who asks for help: then no other part of the CLI is loaded. */
function isHookCall([command, agent, ...rest]: readonly string[]): boolean {
  return (
    command === 'hook' && (agent === 'gemini' || agent === 'claude') && !rest.some((word) => /^(-h|--help)/.test(word))
  )
}
