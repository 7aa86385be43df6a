export { type Completer, complete } from './completion.ts'
export { type Bug, type Change, Definitions, type ListKind, type ServerOptions } from './definitions.ts'
export type { Icon } from './icon.ts'
export { createCheckedResult } from './output-check.ts'
export {
  createPromptResult,
  definePrompt,
  type PromptArgument,
  type PromptHandler,
  type PromptMessage,
  type PromptOptions,
  readPromptArguments,
} from './prompt-definition.ts'
export type { Registration } from './registry.ts'
export {
  createResourceContents,
  defineResource,
  defineResourceTemplate,
  type ResourceOptions,
  type ResourceReader,
  type ResourceRequest,
  type ResourceTemplateOptions,
} from './resource-definition.ts'
export {
  assertValidTool,
  defineTool,
  type Tool,
  type ToolAnnotations,
  type ToolHandler,
  type ToolOptions,
} from './tool-definition.ts'
