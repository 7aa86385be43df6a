import { type Connection, ServerConnection } from './connection.ts'
import { Definitions, type ServerOptions } from './definitions.ts'
import type { ArgumentsOf, InputSchema } from './input-schema.ts'
import { definePrompt, type PromptHandler, type PromptOptions } from './prompt-definition.ts'
import type { Registration } from './registry.ts'
import {
  defineResource,
  defineResourceTemplate,
  type ResourceOptions,
  type ResourceReader,
} from './resource-definition.ts'
import { defineTool, type ToolHandler, type ToolOptions } from './tool-definition.ts'

/** An MCP server as its author writes it. It speaks both protocol eras, on as many connections as there are peers. */
export class McpServer {
  readonly #definitions: Definitions

  constructor(name: string, options: ServerOptions) {
    this.#definitions = new Definitions(name, options)
  }

  tool<const Schema extends InputSchema>(
    name: string,
    options: ToolOptions<Schema>,
    handler: ToolHandler<ArgumentsOf<Schema>>,
  ): Registration {
    return this.#definitions.tools.add(name, defineTool(name, options, handler))
  }

  resource(uri: string, options: ResourceOptions, read: ResourceReader): Registration {
    return this.#definitions.resources.add(uri, defineResource(uri, options, read))
  }

  /** A family of resources: `notes://{id}`. */
  resourceTemplate(template: string, options: ResourceOptions, read: ResourceReader): Registration {
    return this.#definitions.templates.add(template, defineResourceTemplate(template, options, read))
  }

  prompt(name: string, options: PromptOptions, handler: PromptHandler): Registration {
    return this.#definitions.prompts.add(name, definePrompt(name, options, handler))
  }

  /** Gives each outgoing message to `send`; feed each incoming one to `receive`. */
  connect(send: (message: object) => void): Connection {
    return new ServerConnection(this.#definitions, send)
  }
}

export function createMcpServer(name: string, options: ServerOptions): McpServer {
  return new McpServer(name, options)
}
