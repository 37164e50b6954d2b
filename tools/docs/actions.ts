import { routes } from '#areas/index.ts';
import { readConfig } from '#config';
import { openApi } from '#platform/http/openapi/document.ts';
import { tagOf } from '#platform/http/openapi/tags.ts';
import type { AnyRoute } from '#platform/http/route.ts';

const INTRODUCTION = `# Actions of operators

Each request of the service that needs an admin token, one command each. \`node tools/docs/main.ts\` writes this page from the routes.

    auth="Authorization: Bearer $ADMIN_TOKEN"     # a token with the scope in parentheses, or with every scope

The values are examples. \`/docs\` describes each field. A word such as \`$ID\` is a shell variable: set it first, or write the value in its place.
`;

/** Returns the scope that an admin token needs for a route; null when the route takes no admin token. */
function scopeOf({ auth }: AnyRoute): string | null {
  if (typeof auth === 'string' || 'webhook' in auth) return null;
  return 'admin' in auth ? auth.admin : auth.sessionOrAdmin;
}

/** Returns the curl command of a route. The path parameter \`{epochNumber}\` becomes the variable \`$EPOCH_NUMBER\`. */
function command(route: AnyRoute, example: unknown, type: string | undefined): string {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`);
  const method = route.method === 'get' || (route.method === 'post' && type !== undefined) ? '' : ` -X ${route.method.toUpperCase()}`;
  const body =
    example !== undefined
      ? ` --json '${JSON.stringify(example).replaceAll("'", `'\\''`)}'`
      : type !== undefined
        ? ` -H 'Content-Type: ${type}' --data-binary @FILE`
        : '';
  return `curl -s -H "$auth"${method} "$BASE_URL${path}"${body}`;
}

/** Returns the page that lists every request of operators, as Markdown. */
export function actionsPage(): string {
  const ofOperators = Object.values(routes)
    .flat()
    .flatMap((route: AnyRoute) => {
      const scope = scopeOf(route);
      return scope === null ? [] : [{ route, scope }];
    });
  const document = openApi(
    readConfig({}),
    ofOperators.map(({ route }) => route),
  );
  const lines = ofOperators.map(({ route, scope }) => {
    const content = document.paths?.[route.path]?.[route.method]?.requestBody;
    const types = content && 'content' in content ? Object.entries(content.content) : [];
    const json = types.find(([type]) => type === 'application/json')?.[1];
    const text = `# ${route.summary} (${scope})\n${command(route, json && 'example' in json ? json.example : undefined, types[0]?.[0])}`;
    return { subject: subjectOf(route.path), text };
  });
  const sections = [...Map.groupBy(lines, ({ subject }) => subject)].sort(([a], [b]) => a.localeCompare(b));
  return [
    INTRODUCTION,
    ...sections.map(([subject, all]) => `## ${subject}\n\n\`\`\`bash\n${all.map(({ text }) => text).join('\n\n')}\n\`\`\`\n`),
  ].join('\n');
}

/** Returns the subject of a path: the word after \`admin\`, or the tag of the path. */
function subjectOf(path: string): string {
  const [first = '', second = ''] = path.slice(1).split('/');
  const subject = first === 'admin' ? second : tagOf(path);
  return `${subject.charAt(0).toUpperCase()}${subject.slice(1)}`;
}
