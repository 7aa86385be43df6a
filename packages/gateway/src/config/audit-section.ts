import type { AuditSection } from './config-schema.ts'
import { DEFAULT_AUDIT } from './defaults.ts'
import type { AuditSettings } from './settings.ts'

export function readAudit(section: AuditSection): AuditSettings {
  const { durability, required, retention } = DEFAULT_AUDIT
  return {
    durability: section.durability ?? durability,
    required: section.required ?? required,
    arguments: section.arguments ?? DEFAULT_AUDIT.arguments,
    retention: { age: section.retention?.age ?? retention.age, bytes: section.retention?.size ?? retention.bytes },
  }
}
