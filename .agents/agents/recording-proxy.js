import { once } from 'node:events';
import { createServer, request as sendRequest } from 'node:http';
const MCP_PATH = '/mcp';
/** Of the connection, not of the client. */
const HOP = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive']);
/** Stands in front of an HTTP server, hands everything on, and keeps what clients say. */
export async function openRecordingProxy(target) {
    const requests = [];
    const server = createServer(async (request, response) => {
        const chunks = [];
        for await (const chunk of request)
            chunks.push(chunk);
        const body = Buffer.concat(chunks);
        const { method: verb = 'GET', headers } = request;
        const own = Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP.has(name)));
        const message = body.length > 0 && { message: JSON.parse(body.toString('utf8')) };
        // Some look for a way to log in at other paths.
        if (request.url === MCP_PATH)
            requests.push({ verb, headers: own, ...message });
        const url = new URL(request.url ?? MCP_PATH, target);
        const onward = sendRequest(url, { method: verb, headers: { ...own, 'content-length': body.length } }, (answer) => {
            response.writeHead(answer.statusCode ?? 502, answer.headers);
            response.flushHeaders();
            answer.pipe(response);
        });
        onward.on('error', () => response.destroy());
        response.on('close', () => onward.destroy());
        onward.end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
        url: `http://127.0.0.1:${server.address().port}${MCP_PATH}`,
        requests,
        close: async () => {
            const closed = once(server, 'close');
            server.close();
            server.closeAllConnections();
            await closed;
        },
    };
}
