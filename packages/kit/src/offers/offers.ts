export { type Completer, complete } from './completion.ts'
export {
  type Bug,
  type Change,
  createPromptResult,
  Definitions,
  definePrompt,
  type ListKind,
  type PromptArgument,
  type PromptHandler,
  type PromptMessage,
  type PromptOptions,
  type Registration,
  readPromptArguments,
  type ServerOptions,
} from './definitions.ts'
export type { Icon } from './icon.ts'
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
  createCheckedResult,
  defineTool,
  type Tool,
  type ToolAnnotations,
  type ToolHandler,
  type ToolOptions,
} from './tool-definition.ts'
