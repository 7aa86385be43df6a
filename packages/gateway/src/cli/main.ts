import module from 'node:module'

// From Node 22.8 on the compiled code is kept between runs, which makes the next start quicker.
const { enableCompileCache } = module as { enableCompileCache?: () => unknown }
enableCompileCache?.()

const [{ writeCarefully }, { createCliContext }, { runCli }] = await Promise.all([
  import('./careful-stderr.ts'),
  import('./cli-context.ts'),
  import('./run-cli.ts'),
])
writeCarefully(process.stderr)

// Node makes a crash of a failed write. That nobody reads on is the normal end of `sallyport audit | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return
  process.stderr.write(`✗ The output could not be written (${error.code}).\n`)
  process.exit(1)
})

process.exitCode = await runCli(process.argv.slice(2), createCliContext(process))
