// The SVG file by itself: one flame graph, a search box, the line of details.
(() => {
  const svg = document.documentElement;
  const data = JSON.parse(document.getElementById("flame-data").textContent);
  const byId = id => document.getElementById(id);
  svg.setAttribute("width", "100%");
  const flame = new Flame(svg, data.names, data.kinds, data, data.unit, {
    inverted: data.inverted,
    top: data.top,
    bottom: data.bottom,
    onHover: text => { byId("details").textContent = text; },
    onZoom: i => place.write({ zoom: i }),
  });

  function arrange() {
    const right = flame.width() + 10;
    const height = flame.height();
    byId("background").setAttribute("width", right + 10);
    byId("background").setAttribute("height", height);
    byId("search").setAttribute("x", right);
    byId("reset").setAttribute("x", right - 70);
    byId("matched").setAttribute("x", right);
    byId("footer").setAttribute("transform", `translate(0 ${height - data.bottom})`);
  }

  function show() {
    const { zoom, search } = place.read();
    flame.zoom(zoom);
    flame.search(search);
    byId("matched").textContent = search
      ? `${search}: ${percent(flame.matched(), flame.tree.total[flame.zoomed])}, ${formatWeight(flame.matched(), data.unit)}` : "";
    byId("reset").style.display = zoom || search ? "" : "none";
    arrange();
  }

  function ask() {
    if (byId("ask")) return;
    const box = document.createElementNS(SVG, "foreignObject");
    box.id = "ask";
    for (const [name, value] of Object.entries({ x: flame.width() - 250, y: 4, width: 260, height: 30 })) box.setAttribute(name, value);
    const input = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
    input.setAttribute("placeholder", "regular expression, Enter");
    input.setAttribute("style", "width: 240px; font: inherit");
    input.value = place.read().search;
    let closed = false;
    const close = take => {
      if (closed) return;
      closed = true;
      const term = input.value;
      box.remove();
      if (take) place.write({ search: term });
    };
    input.addEventListener("keydown", event => {
      event.stopPropagation();
      if (event.key === "Enter") close(true);
      if (event.key === "Escape") close(false);
    });
    input.addEventListener("blur", () => close(false));
    box.appendChild(input);
    svg.appendChild(box);
    input.focus();
    input.select();
  }

  addEventListener("keydown", event => {
    const find = event.key === "/" || ((event.ctrlKey || event.metaKey) && event.key === "f");
    if (!find && (event.ctrlKey || event.metaKey || event.altKey)) return;
    if (find) ask();
    else if (event.key === "Escape") place.write({ zoom: 0, search: "" });
    else if (event.key === "Enter") place.write({ zoom: flame.focus });
    else if (event.key === "u") place.write({ zoom: flame.parent[flame.zoomed] });
    else if (event.key.startsWith("Arrow")) flame.move(event.key);
    else return;
    event.preventDefault();
  });
  byId("search").addEventListener("click", ask);
  byId("reset").addEventListener("click", () => place.write({ zoom: 0, search: "" }));
  addEventListener("hashchange", show);
  addEventListener("resize", () => { flame.draw(); arrange(); });
  byId("search").style.display = "";
  byId("help").textContent = "click zooms, Back undoes; / searches, Esc resets, arrows and Enter walk, u goes up";
  show();
})();
