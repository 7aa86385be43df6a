import type { ToolPolicy } from './effective-policy.ts'
import { PERMISSIONS } from './permission.ts'
import { type PolicyValue, RISK_LEVELS, SECRET_HANDLINGS } from './tools-file.ts'

/** Takes the stricter value of each field. Fields that widen a policy, or only name things, come from the first. */
export function mergePolicies(one: ToolPolicy, other: ToolPolicy): ToolPolicy {
  return {
    ...one,
    ...mergeModes(one, other),
    permission: uniteLists(one.permission, other.permission, PERMISSIONS),
    risk: pickStricter(one.risk, other.risk, (level) => RISK_LEVELS.indexOf(level)),
    requiresApproval: pickStricter(one.requiresApproval, other.requiresApproval, Number),
    hidden: pickStricter(one.hidden, other.hidden, Number),
    misspelt: one.misspelt ?? other.misspelt,
    enforce: pickStricter(one.enforce, other.enforce, Number),
    secrets: pickStricter(one.secrets, other.secrets, (value) => SECRET_HANDLINGS.indexOf(value)),
    allowedPaths: [...one.allowedPaths, ...other.allowedPaths],
    forbiddenPaths: [...one.forbiddenPaths, ...other.forbiddenPaths],
    unattendedPaths: one.unattendedPaths === other.unattendedPaths ? one.unattendedPaths : [],
    sensitivity: [...one.sensitivity, ...other.sensitivity],
    pathArguments: other.pathArguments,
    arguments: [...one.arguments, ...other.arguments],
    timeoutSeconds: pickLesser(one.timeoutSeconds, other.timeoutSeconds),
    rateLimitPerMinute: pickLesser(one.rateLimitPerMinute, other.rateLimitPerMinute),
    maxConcurrent: pickLesser(one.maxConcurrent, other.maxConcurrent),
    pin: other.pin,
  }
}

const mergeModes = (one: ToolPolicy, other: ToolPolicy) => ({
  requiresApprovalInModes: uniteLists(one.requiresApprovalInModes, other.requiresApprovalInModes),
  allowedInModes: intersectLists(one.allowedInModes, other.allowedInModes),
  forbiddenInModes: uniteLists(one.forbiddenInModes, other.forbiddenInModes),
  essential: pickStricter(one.essential, other.essential, (value) => Number(!value)),
})

function pickStricter<Value>(
  one: PolicyValue<Value>,
  other: PolicyValue<Value>,
  strictness: (value: Value) => number,
): PolicyValue<Value> {
  return strictness(one.value) >= strictness(other.value) ? one : other
}

function pickLesser(
  one: PolicyValue<number> | undefined,
  other: PolicyValue<number> | undefined,
): PolicyValue<number> | undefined {
  return one && other ? pickStricter(one, other, (value) => -value) : (one ?? other)
}

type PolicyList<Item> = PolicyValue<readonly Item[]>

/** The reason is that of the longer list. */
function uniteLists<Item>(one: PolicyList<Item>, other: PolicyList<Item>, order?: readonly Item[]): PolicyList<Item> {
  const items = new Set([...one.value, ...other.value])
  const source = other.value.length > one.value.length ? other : one
  return { ...source, value: order ? order.filter((item) => items.has(item)) : [...items] }
}

function intersectLists<Item>(one: PolicyList<Item>, other: PolicyList<Item>): PolicyList<Item> {
  const source = other.value.length < one.value.length ? other : one
  return { ...source, value: one.value.filter((item) => other.value.includes(item)) }
}
