import { proposeCompletions } from '@stricli/core'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { createScreen } from '../screen.ts'
import { createUsageText } from '../usage-text.ts'

export const completeCommand = defineCommand<object, string[]>({
  brief: 'Propose what could stand next on a command line (for the completion scripts)',
  examples: [['complete -- tools --s', 'Print the flags of `tools` that begin so']],
  flags: {},
  positional: { kind: 'array', parameter: { brief: 'The words typed so far', placeholder: 'word', parse: String } },
  run: async (context, flags, ...words) => {
    const screen = createScreen(context, flags)
    const proposals = await propose(context, words)
    if (screen.json) return screen.dataJson(proposals)
    for (const { word, brief } of proposals) screen.data(`${word}\t${brief}\n`)
  },
})

interface Proposal {
  readonly word: string
  readonly brief: string
}

/** The last word is the one being typed; it may be empty. */
async function propose(context: CliContext, words: readonly string[]): Promise<readonly Proposal[]> {
  // Loaded here, since the application itself loads this command.
  const { createApplication } = await import('../application.ts')
  const text = createUsageText({ view: { json: false, debug: false }, help: 'sallyport --help' })
  const application = await createApplication(text)
  const inputs = words.length === 0 ? [''] : words
  const found = await proposeCompletions(application, inputs, context)
  return found.filter(({ completion }) => completion !== '--').map(({ completion, brief }) => ({ word: completion, brief }))
}
