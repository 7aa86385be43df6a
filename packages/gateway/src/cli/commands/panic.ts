import { defineCommand } from '../define-command.ts'
import { noGateway } from '../find-home.ts'
import { MODE_MEANINGS, WAY_BACK } from '../mode-meaning.ts'
import { withRecords } from '../reach-gateway.ts'
import { createScreen } from '../screen.ts'
import { visibleLine } from '../terminal-text.ts'

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
    if (screen.json) return screen.dataJson(changed)
    const since = changed.before === 'LOCKDOWN' ? ' since before' : ''
    screen.say(`LOCKDOWN is in force${since}. ${MODE_MEANINGS.LOCKDOWN}`)
    // Whoever meant the gateway of another state must not go away in peace.
    if (age !== 'running') screen.say(`! ${noGateway(context, flags)} The next one there begins in LOCKDOWN.`)
    if (changed.trouble !== undefined) screen.say(`! ${visibleLine(changed.trouble)}`)
    screen.say(WAY_BACK)
  },
})
