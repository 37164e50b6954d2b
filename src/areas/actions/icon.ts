/** The picture of actions that have no card: a coin, as an SVG without scripts and outside resources. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="600" height="600" viewBox="0 0 600 600" role="img" aria-label="Coinop">
<rect width="600" height="600" fill="#120b24"/>
<circle cx="300" cy="300" r="190" fill="#f7b731"/>
<circle cx="300" cy="300" r="190" fill="none" stroke="#8a5a00" stroke-width="18"/>
<circle cx="300" cy="300" r="145" fill="none" stroke="#8a5a00" stroke-width="8" stroke-dasharray="4 18" stroke-linecap="round"/>
<path d="M365 235a92 92 0 1 0 0 130" fill="none" stroke="#120b24" stroke-width="40" stroke-linecap="round"/>
</svg>
`;
