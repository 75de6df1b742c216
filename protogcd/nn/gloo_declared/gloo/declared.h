// What torch's ProcessGroupGloo.hpp names of Gloo, whose own headers the wheels leave out. Names
// and nothing else: no object of these types is made or looked into here, libtorch does both.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace rendezvous {
class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::vector<char>& data) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) = 0;
};
}  // namespace rendezvous

namespace transport {
class Device;
class UnboundBuffer {
 public:
  virtual ~UnboundBuffer() = default;
};
}  // namespace transport

}  // namespace gloo
