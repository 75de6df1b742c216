#include "tests/support/tensorboard.h"

#include "tests/support/python.h"

namespace protogcd::testing {

nlohmann::json read_by_tensorboard(const std::filesystem::path& folder) {
  return ask_python(
      "tensorboard",
      "import json, sys\n"
      "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
      "reader = EventAccumulator(sys.argv[1])\n"
      "reader.Reload()\n"
      "print(json.dumps({tag: [[p.step, p.value] for p in reader.Scalars(tag)]\n"
      "                  for tag in reader.Tags()['scalars']}))\n",
      {folder});
}

nlohmann::json read_by_projector(const std::filesystem::path& folder) {
  return ask_python(
      "tensorboard",
      "import json, sys, urllib.parse\n"
      "import numpy\n"
      "from werkzeug.test import Client\n"
      "from tensorboard.plugins.base_plugin import TBContext\n"
      "from tensorboard.plugins.projector.projector_plugin import ProjectorPlugin\n"
      "apps = ProjectorPlugin(TBContext(logdir=sys.argv[1])).get_plugin_apps()\n"
      "def get(route, **query):\n"
      "    answer = Client(apps[route]).get('/?' + urllib.parse.urlencode({'run': '.', **query}))\n"
      "    assert answer.status_code == 200, (route, answer.data)\n"
      "    return answer.data\n"
      "found = {}\n"
      "for one in json.loads(get('/info'))['embeddings']:\n"
      "    name = one['tensorName']\n"
      "    tensor = numpy.frombuffer(get('/tensor', name=name), 'float32')\n"
      "    found[name] = {'shape': one['tensorShape'], 'numbers': len(tensor),\n"
      "                   'sum': float(tensor.sum()),\n"
      "                   'metadata': get('/metadata', name=name).decode(),\n"
      "                   'sprite': len(get('/sprite_image', name=name))}\n"
      "print(json.dumps(found))\n",
      {folder});
}

}  // namespace protogcd::testing
