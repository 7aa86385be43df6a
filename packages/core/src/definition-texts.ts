import type { Json } from './json/json.ts'

/** Something that stands in a definition, and the way to it. */
export interface DefinitionText {
  readonly text: string
  /** The key that it stands under; undefined for a key itself and for members of lists. */
  readonly key: string | undefined
  /** Whether it is what an argument is called: a key of `properties`, or the `name` of a prompt's argument. */
  readonly isParameter: boolean
  /** Built only where it is needed: in deep nesting all ways together are long. */
  where(): string
}

interface Node {
  readonly value: Json
  readonly step: string
  readonly parent: Node | undefined
}

const MAX_STEPS = 12

/** Every text in a definition, names of keys among them. It keeps its own stack, since foreign values are as deep as they like. */
export function* listTexts(definition: Json): Generator<DefinitionText> {
  const open: Node[] = [{ value: definition, step: '', parent: undefined }]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const { value, step } = node
    const at = node
    if (typeof value === 'string')
      yield { text: value, key: step, isParameter: isArgumentName(node), where: () => formatLocation(at) }
    if (typeof value !== 'object' || value === null) continue
    const isList = Array.isArray(value)
    // Last first, so that they come out as they stand.
    for (const [key, inner] of Object.entries(value).reverse())
      if (inner !== undefined) open.push({ value: inner, step: isList ? `[${key}]` : key, parent: node })
    if (!isList)
      for (const key of Object.keys(value))
        yield {
          text: key,
          key: undefined,
          isParameter: step === 'properties' && isSchema(at),
          where: () => formatLocation({ value: null, step: key, parent: at }),
        }
  }
}

/** Not a parameter that is itself called `properties`. */
const isSchema = ({ parent }: Node): boolean => parent?.step !== 'properties'

/** `arguments[0].name`. */
const isArgumentName = ({ step, parent }: Node): boolean =>
  step === 'name' && parent?.step.startsWith('[') === true && parent.parent?.step === 'arguments'

function formatLocation(node: Node): string {
  const steps: string[] = []
  let at: Node | undefined = node
  for (; at?.parent !== undefined && steps.length < MAX_STEPS; at = at.parent) steps.unshift(at.step)
  if (at?.parent !== undefined) steps.unshift('…')
  return steps.join('.').replaceAll('.[', '[')
}
