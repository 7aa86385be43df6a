export {
  type Api,
  type ApiOperation,
  type ApiOperationShape,
  type ApiResponse,
  type ApiSettings,
  type ApiTool,
  readApi,
} from './api.ts'
export { OpenApiConnector } from './open-api-connector.ts'
