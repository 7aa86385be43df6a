import { explainCall } from '../audit/explain-call.ts'
import { defineCommand } from '../define-command.ts'
import { withRecords } from '../gateway/with-gateway.ts'
import { createScreen } from '../terminal/screen.ts'

export const explainCommand = defineCommand<object, [string]>({
  brief: 'Explain a call: who made it, what each step decided and by which rule, and how it ended',
  examples: [
    ['explain 9f2c41d0a7b35e68', 'One call, by its id in `audit`'],
    ['explain 4bf92f', 'By the first digits of a call’s or a trace’s id'],
    ['explain 4bf92f3577b34da6a3ce929d0e0e4736 --json', 'All calls of a trace, for a program'],
  ],
  flags: {},
  positional: {
    kind: 'tuple',
    parameters: [
      { brief: 'The id of a call or a trace, or its first 6 digits or more', placeholder: 'id', parse: String },
    ],
  },
  run: async (context, flags, id) => {
    const screen = createScreen(context, flags)
    const explanation = await withRecords(context, flags, (client) => client.explain(id))
    if (screen.json) return screen.printJson(explanation)
    const { calls, rules } = explanation
    screen.print(calls.map((call) => explainCall(call, rules, screen)).join('\n\n'))
  },
})
