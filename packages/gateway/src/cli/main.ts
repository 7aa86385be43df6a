import { writeCarefully } from './careful-stderr.ts'
import { createCliContext } from './cli-context.ts'
import { runCli } from './run-cli.ts'

writeCarefully(process.stderr)

// Node makes a crash of a failed write. That nobody reads on is the normal end of `sallyport audit | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return
  process.stderr.write(`✗ The output could not be written (${error.code}).\n`)
  process.exit(1)
})

process.exitCode = await runCli(process.argv.slice(2), createCliContext(process))
