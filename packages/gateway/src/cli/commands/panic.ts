import { LOCKDOWN_EXIT_HINT, MODE_MEANINGS } from '../audit/mode-meaning.ts'
import { defineCommand } from '../define-command.ts'
import { noGatewayMessage } from '../find-home.ts'
import { withRecords } from '../gateway/with-gateway.ts'
import { createScreen } from '../terminal/screen.ts'
import { visibleLine } from '../terminal/terminal-text.ts'

interface PanicFlags {
  readonly why?: string
}

export const panicCommand = defineCommand<PanicFlags>({
  brief: 'Put LOCKDOWN in force, at once and without a question',
  description: 'Calls that are under way go on to their end; no other is made that LOCKDOWN forbids.',
  examples: [
    ['panic', 'Nothing but essential READ tools from now on, each with approval'],
    ['panic --why "a key leaked"', 'The same, and whoever looks knows why'],
  ],
  flags: {
    why: { kind: 'parsed', parse: String, optional: true, placeholder: 'text', brief: 'Why; agents are told it too' },
  },
  run: async (context, flags) => {
    const screen = createScreen(context, flags)
    const why = flags.why ?? 'panic'
    const { changed, age } = await withRecords(context, flags, async (client, found) => ({
      changed: await (found === 'running' ? client.panic(why) : client.setMode({ mode: 'LOCKDOWN', why })),
      age: found,
    }))
    if (screen.json) return screen.printJson(changed)
    const since = changed.before === 'LOCKDOWN' ? ' since before' : ''
    screen.printMessage(`LOCKDOWN is in force${since}. ${MODE_MEANINGS.LOCKDOWN}`)
    // Whoever meant the gateway of another state must not go away in peace.
    if (age !== 'running')
      screen.printMessage(`! ${noGatewayMessage(context, flags)} The next one there begins in LOCKDOWN.`)
    if (changed.trouble !== undefined) screen.printMessage(`! ${visibleLine(changed.trouble)}`)
    screen.printMessage(LOCKDOWN_EXIT_HINT)
  },
})
