import { type Connection, ServerConnection } from './connection.ts'
import { Definitions, type ServerOptions } from './definitions.ts'
import {
  type Authentication,
  type Authenticator,
  createAuthenticator,
  createScope,
  type Environment,
  findDataFolder,
  type Identity,
  type RequestHeaders,
} from './identity/identity.ts'
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

export interface ConnectOptions {
  /** On whose behalf the peer asks. Absent: nobody's, and getUserId() is an error. */
  readonly identity?: Identity
}

/** An MCP server as its author writes it. It speaks both protocol eras, on as many connections as there are peers. */
export class McpServer {
  readonly #definitions: Definitions
  /** Below it lies what is kept for users and sessions. */
  readonly dataFolder: string
  readonly environment: Environment
  readonly #authenticator: Authenticator

  constructor(name: string, options: ServerOptions) {
    this.#definitions = new Definitions(name, options)
    // biome-ignore lint/style/noProcessEnv: a server is the composition root of its program.
    this.environment = options.environment ?? process.env
    this.dataFolder = findDataFolder(options.dataFolder, this.environment)
    this.#authenticator = createAuthenticator(options)
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

  /** Who sends a request with these headers, or how it is to be refused. */
  authenticate(headers: RequestHeaders): Promise<Authentication> {
    return this.#authenticator.authenticate(headers)
  }

  /** Throws where requests that reach this address must not be served: asked by whoever opens a port, before. */
  assertMayListen(host: string): void {
    this.#authenticator.assertMayListen(host)
  }

  /** Gives each outgoing message to `send`; feed each incoming one to `receive`. */
  connect(send: (message: object) => void, { identity }: ConnectOptions = {}): Connection {
    const scope = identity && createScope(identity, this.dataFolder)
    return new ServerConnection(this.#definitions, { send, scope })
  }
}

export function createMcpServer(name: string, options: ServerOptions = {}): McpServer {
  return new McpServer(name, options)
}
