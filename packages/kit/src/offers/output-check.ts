import { type Era, type Json, type JsonObject, wrapOutputSchema } from '@sallyport/core'
import { type PlainSchema, readSchema, type Schema, type SchemaChecker } from '../schema/schema.ts'
import { toJson } from '../to-json.ts'
import { OutputMismatchError } from '../tool-error.ts'
import { dropNonObjectStructure, isWholeResult, type ToolResult, textContent } from '../tool-result.ts'

/** What the results of a tool are. */
export interface ToolOutput extends SchemaChecker {
  /** For clients of the legacy era, which know objects only: an object that holds the result. Absent: it is one itself. */
  readonly wrappedSchema: JsonObject | undefined
}

export function readOutputSchema(tool: string, schema: Schema | PlainSchema): ToolOutput {
  const output = readSchema(schema, 'output', `the output of the tool "${tool}"`)
  return { ...output, wrappedSchema: wrapOutputSchema(output.json) }
}

/** What a handler returned, as a result that keeps its schema: clients rely on it, so nothing else may reach them. */
export async function createCheckedResult(returned: unknown, output: ToolOutput, era: Era): Promise<ToolResult> {
  const whole = isWholeResult(returned) ? returned : undefined
  if (whole?.isError === true) return era === 'legacy' ? dropNonObjectStructure(whole) : whole
  const structured = whole === undefined ? returned : whole.structuredContent
  if (structured === undefined) throw new OutputMismatchError('The tool has an output schema and returned no value.')
  const checked = await output.check(toJson(structured))
  if ('wrong' in checked) throw new OutputMismatchError(`The result breaks the output schema: ${checked.wrong}`)
  const value = toJson(checked.value)
  const structuredContent = era === 'legacy' && output.wrappedSchema !== undefined ? { result: value } : value
  return { ...(whole ?? { content: [textContent(renderText(value))] }), structuredContent }
}

const renderText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))
