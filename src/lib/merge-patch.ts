type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Applies a JSON merge patch (RFC 7386): objects are merged member by member, null removes a member, any other value replaces the old value. Neither
 * argument is changed.
 */
export function mergePatch(target: unknown, patch: Members): Record<string, unknown> {
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, isObject(value) ? mergePatch(members.get(name), value) : value);
  }
  return Object.fromEntries(members);
}
