import type { ReactNode } from 'react'
import type { RuledTool } from '../../../../gateway/src/serve/api/api.ts'
import { LabelSign, PermissionSign, RiskSign, SENSITIVITY_LEVELS } from '../../parts/signs.tsx'
import type { RuleEdit, RuleField, RuleFields } from './rule-edits.ts'
import { RISKS } from './rules.ts'

export interface RuleChoice {
  readonly field: RuleField
  readonly title: string
  readonly options: readonly { readonly value: string; readonly text: string; readonly edit: RuleEdit }[]
}

const PERMISSION_SETS: readonly RuleFields['permission'][] = [
  ['READ'],
  ['READ', 'WRITE'],
  ['READ', 'CONNECT'],
  ['READ', 'WRITE', 'CONNECT'],
  ['WRITE'],
  ['WRITE', 'CONNECT'],
  ['CONNECT'],
]

/** What can be edited in the table, in the order of its columns. */
export const RULE_CHOICES: readonly RuleChoice[] = [
  { field: 'risk', title: 'Risk', options: RISKS.map((risk) => ({ value: risk, text: risk, edit: { risk } })) },
  {
    field: 'permission',
    title: 'Permission',
    options: PERMISSION_SETS.map((permission) => ({
      value: permission.join(),
      text: permission.join(', '),
      edit: { permission },
    })),
  },
  {
    field: 'requiresApproval',
    title: 'Approval',
    options: [
      { value: 'true', text: 'asks', edit: { requiresApproval: true } },
      { value: 'false', text: 'never', edit: { requiresApproval: false } },
    ],
  },
  {
    field: 'sensitivity',
    title: 'Sensitivity',
    options: SENSITIVITY_LEVELS.map((sensitivity) => ({
      value: sensitivity,
      text: sensitivity,
      edit: { sensitivity },
    })),
  },
]

export const formatRuleValue = (value: RuleFields[RuleField] | undefined): string => {
  if (typeof value === 'boolean') return value ? 'asks' : 'never'
  return value === undefined ? 'not set' : Array.isArray(value) ? value.join(', ') : String(value)
}

/** A value as a sign: a shape and a word. */
export function RuleSign({
  fields,
  field,
}: {
  readonly fields: Partial<RuleFields>
  readonly field: RuleField
}): ReactNode {
  if (field === 'risk') return fields.risk && <RiskSign risk={fields.risk} />
  if (field === 'permission') return fields.permission && <PermissionSign permission={fields.permission} />
  if (field === 'sensitivity')
    return fields.sensitivity ? <LabelSign level={fields.sensitivity} /> : <span className="faint">not set</span>
  return <span className={fields.requiresApproval ? 'asks' : 'muted'}>{formatRuleValue(fields.requiresApproval)}</span>
}

/** The values of a tool as they are in force. */
export const fieldsOf = ({ risk, permission, requiresApproval, sensitivity }: RuledTool): Partial<RuleFields> => ({
  risk: risk.value,
  permission: permission.value,
  requiresApproval: requiresApproval.value,
  ...(sensitivity && { sensitivity: sensitivity.value }),
})
