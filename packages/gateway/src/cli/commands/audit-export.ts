import { type AuditFilter, FILTER_FLAGS } from '../audit-filter.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { readLoggedRecords } from '../logged-records.ts'
import { createScreen } from '../screen.ts'

export const exportCommand = defineCommand<AuditFilter>({
  brief: 'Print all records that match, as they stand in the log: JSON lines',
  description: 'There is no limit. It reads the files of the log, whether a gateway runs or not.',
  examples: [
    ['audit export > all.jsonl', 'Everything that is kept'],
    ['audit export --since 30d --verdict deny', 'What was refused in a month'],
  ],
  flags: FILTER_FLAGS,
  run: exportRecords,
})

async function exportRecords(context: CliContext, flags: AuditFilter & GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  let count = 0
  for await (const { line } of readLoggedRecords(context, flags)) {
    screen.printUntrusted(`${line}\n`)
    count++
  }
  if (!screen.json) screen.printMessage(count === 1 ? '1 record.' : `${count} records.`)
}
