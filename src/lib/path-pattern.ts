/**
 * Compares a path with a pattern such as `/games/{id}`, in which a parameter is one whole segment.
 * @returns the parameters as they stand in the path; null when the path does not match
 */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const parts = pattern.split('/');
  const segments = path.split('/');
  if (parts.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [i, part] of parts.entries()) {
    const segment = segments[i] ?? '';
    if (!part.startsWith('{')) {
      if (part !== segment) return null;
    } else if (segment === '') return null;
    else params[part.slice(1, -1)] = segment;
  }
  return params;
}
