export type {
  AuditSettings,
  GatewaySettings,
  HttpServerConfig,
  JwtSettings,
  Place,
  ServerConfig,
  Settings,
  StdioServerConfig,
  Timeouts,
} from './settings.ts'
