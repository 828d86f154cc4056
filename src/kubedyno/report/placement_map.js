// Draws the maps of a run's page: nodes as boxes of cells, a colour for each workload. Data is text, never markup.
"use strict";
(() => {
  const GAP = 0.25; // between nodes, by their width
  const HEAD = 2; // height of a group's name, in cells
  const READABLE_PX = 9; // smaller cells cannot be told from their neighbours
  const LINE_PX = 12; // height of a node's name; there must be as much below the node
  const SHARE = 0.62; // height of the map by its width

  const names = (short) => {
    const found = [];
    let before = "";
    for (let at = 0; at < short.length; at += 2) {
      before = [...before].slice(0, short[at]).join("") + short[at + 1];
      found.push(before);
    }
    return found;
  };

  const read = (element) => {
    const data = JSON.parse(element.textContent);
    let at = 0;
    const since = data.since.map((more) => (at += more));
    return {...data, since, nodes: names(data.nodes), workloads: names(data.workloads)};
  };

  // A colour by workload. Neighbours in number differ much in hue, and in lightness too, for those who see few hues.
  // Workloads of one cell share a colour: thousands of them would hide the gangs among them.
  const colours = (data, lonely) => {
    const cells = data.workloads.map(() => 0);
    for (const workload of data.workload) cells[workload] += 1;
    let gangs = 0;
    return cells.map((count) => {
      if (count === 1) return lonely;
      gangs += 1;
      return `hsl(${Math.round((gangs * 137.508) % 360)} ${55 + (gangs % 2) * 20}% ${[42, 58, 70][gangs % 3]}%)`;
    });
  };

  // Columns of a node's cells: between as wide as tall and twice as wide, with the fewest places left over.
  const broad = (slots) => {
    let best = Math.ceil(Math.sqrt(slots * 2));
    const left = (columns) => (columns - (slots % columns)) % columns;
    for (let columns = best; columns >= Math.sqrt(slots); columns -= 1) if (left(columns) < left(best)) best = columns;
    return best;
  };

  // Where each node is, in cells: groups are blocks beside each other, in as many columns as make the whole nearly as wide
  // as the canvas is. A head is as tall as a line of text when all of the map is seen, which depends on what comes out.
  const arrange = (data, width) => {
    const across = broad(data.slots);
    const down = Math.ceil(data.slots / across);
    const gap = across * GAP;
    const node = {wide: across + gap, tall: down + gap};
    const lay = (columns, beside, head) => {
      const spots = [];
      const heads = [];
      let [x, y, row, wide] = [0, 0, 0, 0];
      data.groups.forEach(([name, count], number) => {
        if (number && number % beside === 0) [x, y, row] = [0, y + row, 0];
        if (head) heads.push({name: `${name} (${count})`, x, y, wide: columns * node.wide - gap});
        for (let at = 0; at < count; at += 1) {
          spots.push([x + (at % columns) * node.wide, y + head + Math.floor(at / columns) * node.tall]);
        }
        wide = Math.max(wide, x + Math.min(columns, count) * node.wide - gap);
        row = Math.max(row, head + Math.ceil(count / columns) * node.tall + (head ? gap : 0));
        x += columns * node.wide + gap;
      });
      return {across, down, gap, wide, tall: y + row, spots, heads, columns, beside};
    };
    const largest = Math.max(...data.groups.map(([, count]) => count));
    const fitting = (head) => {
      let best = null;
      for (let beside = 1; beside <= data.groups.length; beside += 1) {
        for (let columns = 1; columns <= largest; columns = Math.ceil(columns * 1.05 + 0.01)) {
          let [tall, row] = [0, 0];
          data.groups.forEach(([, count], number) => {
            if (number && number % beside === 0) [tall, row] = [tall + row, 0];
            row = Math.max(row, head + Math.ceil(count / columns) * node.tall + (head ? gap : 0));
          });
          const wide = beside * (columns * node.wide + (head ? gap : 0));
          const off = Math.abs(Math.log((tall + row) / wide / SHARE));
          if (best === null || off < best.off) best = {off, columns, beside};
        }
      }
      return lay(best.columns, best.beside, head);
    };
    if (data.groups.length < 2) return fitting(0);
    let laid = fitting(HEAD);
    for (let turn = 0; turn < 3; turn += 1) {
      const size = Math.min(width / laid.wide, (width * SHARE) / laid.tall);
      laid = fitting(Math.max(HEAD, (LINE_PX * 1.4) / size));
    }
    return laid;
  };

  const start = (root) => {
    const data = read(root.querySelector('script[type="application/json"]'));
    const canvas = root.querySelector("canvas");
    const laid = arrange(data, canvas.clientWidth || 1000);
    const about = root.querySelector(".about");
    const told = root.querySelector("output.moment");
    const slider = root.querySelector('[data-do="moment"]');
    const search = root.querySelector('[data-do="find"]');
    const pen = canvas.getContext("2d");
    const byNode = data.nodes.map(() => []);
    data.node.forEach((node, cell) => byNode[node].push(cell));
    const view = {scale: 1, x: 0, y: 0};
    let moment = Number(slider.value);
    let chosen = null; // a set of workloads
    let found = null; // a node that was looked for
    let drag = null;
    let waiting = false;

    const isThere = (cell) => data.since[cell] <= moment && !(data.until[cell] <= moment);
    const unit = () => (Math.min(canvas.clientWidth / laid.wide, canvas.clientHeight / laid.tall)) * view.scale;

    const draw = () => {
      waiting = false;
      const ratio = window.devicePixelRatio || 1;
      const width = canvas.clientWidth;
      const height = canvas.clientHeight;
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
      const style = getComputedStyle(root);
      const [ink, line] = [style.getPropertyValue("--ink"), style.getPropertyValue("--line")];
      const painted = colours(data, style.getPropertyValue("--c5"));
      const size = unit();
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, width, height);
      pen.font = `${LINE_PX}px system-ui, sans-serif`;
      const inset = size > 6 ? 1 : 0;
      const marked = []; // cells that were looked for and are too small to be seen among others
      for (const head of laid.heads) {
        pen.fillStyle = ink;
        pen.fillText(head.name, head.x * size - view.x, head.y * size - view.y + LINE_PX, head.wide * size);
      }
      laid.spots.forEach(([spotX, spotY], node) => {
        const x = spotX * size - view.x;
        const y = spotY * size - view.y;
        if (x > width || y > height || x + laid.across * size < 0 || y + laid.down * size < 0) return;
        pen.globalAlpha = 1;
        pen.fillStyle = line;
        const rows = Math.floor(data.slots / laid.across);
        pen.fillRect(x, y, laid.across * size, rows * size);
        pen.fillRect(x, y + rows * size, (data.slots % laid.across) * size, size);
        for (const cell of byNode[node]) {
          if (!isThere(cell)) continue;
          const slot = data.slot[cell];
          pen.globalAlpha = chosen === null || chosen.has(data.workload[cell]) ? 1 : 0.15;
          pen.fillStyle = painted[data.workload[cell]];
          const left = x + (slot % laid.across) * size;
          const top = y + Math.floor(slot / laid.across) * size;
          pen.fillRect(left + inset / 2, top + inset / 2, size - inset, size - inset);
          if (chosen !== null && pen.globalAlpha === 1 && size < READABLE_PX) marked.push([left, top]);
        }
        pen.globalAlpha = 1;
        if (found === node) {
          pen.strokeStyle = ink;
          pen.lineWidth = 2;
          pen.strokeRect(x - 1, y - 1, laid.across * size + 2, laid.down * size + 2);
        }
        if (size * laid.gap >= LINE_PX) {
          pen.fillStyle = ink;
          pen.fillText(data.nodes[node], x, y + laid.down * size + LINE_PX, laid.across * size);
        }
      });
      pen.strokeStyle = ink;
      pen.lineWidth = 1;
      for (const [left, top] of marked) pen.strokeRect(left - 2.5, top - 2.5, size + 5, size + 5);
    };

    const redraw = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(draw);
    };

    const keep = () => {
      const size = unit();
      view.x = Math.min(Math.max(view.x, 0), Math.max(0, laid.wide * size - canvas.clientWidth));
      view.y = Math.min(Math.max(view.y, 0), Math.max(0, laid.tall * size - canvas.clientHeight));
      redraw();
    };

    const zoom = (factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) => {
      const before = unit();
      view.scale = Math.min(Math.max(view.scale * factor, 1), 400);
      const grown = unit() / before;
      view.x = (view.x + x) * grown - x;
      view.y = (view.y + y) * grown - y;
      keep();
    };

    const at = (event) => {
      const size = unit();
      const x = (event.offsetX + view.x) / size;
      const y = (event.offsetY + view.y) / size;
      const node = laid.spots.findIndex(
        ([left, top]) => x >= left && x < left + laid.across && y >= top && y < top + laid.down,
      );
      if (node < 0) return null;
      const slot = Math.floor(y - laid.spots[node][1]) * laid.across + Math.floor(x - laid.spots[node][0]);
      const cell = byNode[node].find((one) => data.slot[one] === slot && isThere(one));
      return {node, cell};
    };

    const describe = (node, cell) => {
      const there = byNode[node].filter(isThere);
      if (cell === undefined) return `${data.nodes[node]}: ${there.length} cells taken`;
      const device = data.device[cell] ? `, ${data.device[cell]}` : "";
      const since = (data.since[cell] / 1000).toFixed(3);
      const until = cell in data.until ? ` until ${(data.until[cell] / 1000).toFixed(3)} s` : "";
      return `${data.nodes[node]}: ${data.workloads[data.workload[cell]]}${device}, since ${since} s${until}`;
    };

    const find = (text) => {
      chosen = null;
      found = null;
      about.textContent = "";
      if (text !== "") {
        const node = data.nodes.indexOf(text);
        const alike = data.workloads.map((name, place) => (name.includes(text) ? place : -1)).filter((one) => one >= 0);
        const exact = data.workloads.indexOf(text);
        if (node >= 0) {
          found = node;
          const here = byNode[node].filter(isThere).map((cell) => data.workloads[data.workload[cell]]);
          about.textContent = `${text}: ${[...new Set(here)].join(", ") || "nothing"}`;
        } else if (alike.length > 0) {
          chosen = new Set(exact >= 0 ? [exact] : alike);
          const on = new Set(data.node.filter((_, cell) => chosen.has(data.workload[cell]) && isThere(cell)));
          const some = [...on].slice(0, 12).map((one) => data.nodes[one]).join(", ");
          about.textContent = `${chosen.size} workloads on ${on.size} nodes: ${some}${on.size > 12 ? ", …" : ""}`;
        } else {
          about.textContent = `no node and no workload is called ${text}`;
        }
      }
      redraw();
    };

    canvas.addEventListener("pointerdown", (event) => {
      canvas.focus();
      canvas.setPointerCapture(event.pointerId);
      drag = {x: event.offsetX, y: event.offsetY, moved: false};
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag !== null) {
        const [x, y] = [event.offsetX - drag.x, event.offsetY - drag.y];
        if (drag.moved || Math.abs(x) + Math.abs(y) > 4) {
          view.x -= x;
          view.y -= y;
          drag = {x: event.offsetX, y: event.offsetY, moved: true};
          keep();
        }
        return;
      }
      const spot = at(event);
      if (spot !== null) about.textContent = describe(spot.node, spot.cell);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag !== null && !drag.moved) {
        const spot = at(event);
        found = null;
        chosen = spot === null || spot.cell === undefined ? null : new Set([data.workload[spot.cell]]);
        if (spot !== null) about.textContent = describe(spot.node, spot.cell);
        redraw();
      }
      drag = null;
    });
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return; // else nobody could scroll past the map
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
    }, {passive: false});
    canvas.addEventListener("keydown", (event) => {
      const step = canvas.clientWidth / 8;
      const moves = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step]};
      if (event.key in moves) {
        view.x += moves[event.key][0];
        view.y += moves[event.key][1];
        keep();
      } else if (event.key === "+" || event.key === "=") zoom(1.5);
      else if (event.key === "-") zoom(1 / 1.5);
      else if (event.key === "0") zoom(1 / view.scale);
      else return;
      event.preventDefault();
    });
    root.querySelector('[data-do="in"]').addEventListener("click", () => zoom(1.5));
    root.querySelector('[data-do="out"]').addEventListener("click", () => zoom(1 / 1.5));
    root.querySelector('[data-do="whole"]').addEventListener("click", () => zoom(1 / view.scale));
    search.addEventListener("input", () => find(search.value.trim()));
    slider.addEventListener("input", () => {
      moment = Number(slider.value);
      told.textContent = `${(moment / 1000).toFixed(3)} s`;
      if (search.value.trim() !== "") find(search.value.trim()); // its answer is of a moment
      redraw();
    });
    window.addEventListener("resize", keep);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    draw();
  };

  for (const root of document.querySelectorAll(".map")) start(root);
})();
