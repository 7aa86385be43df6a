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
  brief: 'Put LOCKDOWN in force, at once and without asking',
  description: 'In-flight calls run to their end; no new call is made that LOCKDOWN forbids.',
  examples: [
    ['panic', 'Nothing but essential READ tools from now on, each with approval'],
    ['panic --why "a key leaked"', 'The same, with a reason that others can see'],
  ],
  flags: {
    why: { kind: 'parsed', parse: String, optional: true, placeholder: 'text', brief: 'The reason; agents see it too' },
  },
  run: async (context, flags) => {
    const screen = createScreen(context, flags)
    const why = flags.why ?? 'panic'
    const { changed, age } = await withRecords(context, flags, async (client, found) => ({
      changed: await (found === 'running' ? client.panic(why) : client.setMode({ mode: 'LOCKDOWN', why })),
      age: found,
    }))
    if (screen.json) return screen.printJson(changed)
    const since = changed.before === 'LOCKDOWN' ? ' already' : ''
    screen.printMessage(`LOCKDOWN is in force${since}. ${MODE_MEANINGS.LOCKDOWN}`)
    // A user who meant the gateway of another state must notice that it is not locked down.
    if (age !== 'running')
      screen.printMessage(`! ${noGatewayMessage(context, flags)} The next one there starts in LOCKDOWN.`)
    const { problem } = changed
    if (problem !== undefined) screen.printMessage(`! ${visibleLine(problem)}`)
    screen.printMessage(LOCKDOWN_EXIT_HINT)
  },
})
